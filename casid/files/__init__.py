"""The one door for everything that is read or written: size limits, decoding, types, finite numbers, short messages.

Readers take the path, ``what`` the file is in a user's words, and the class of ``error`` to raise; a file that cannot
be used raises that error with one line that names the file, what is wrong and, where it helps, what to do. Writers put
content beside its final place first, flush it to disk and rename it, so that no file is ever half-written.
"""
