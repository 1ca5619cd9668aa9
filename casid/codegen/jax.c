/* XLA's call of `casid_entry`: all arguments have as many leading axes, of length 1 where they are shared.

INPUTS, OUTPUTS, SIZES, AXES (of one sample, inputs first) and REAL, the type of numbers, are defined before this text. */

#include "xla/ffi/api/c_api.h"
XLA_FFI_Error *casid_ffi(XLA_FFI_CallFrame *frame)
{
    static const long sizes[] = {SIZES};
    static const int axes[] = {AXES};
    const XLA_FFI_Extension_Base *extension = frame->extension_start;
    const REAL *in[INPUTS + 1];
    REAL *out[OUTPUTS];
    long step[INPUTS + 1], count = 1, sample;
    int i, k, mixed = 0;
    if (extension && extension->type == XLA_FFI_Extension_Metadata) {
        XLA_FFI_Metadata *metadata = ((XLA_FFI_Metadata_Extension *)extension)->metadata;
        metadata->api_version.major_version = XLA_FFI_API_MAJOR;
        metadata->api_version.minor_version = XLA_FFI_API_MINOR;
        return 0;
    }
    for (i = 0; i < OUTPUTS; ++i)
        out[i] = ((XLA_FFI_Buffer *)frame->rets.rets[i])->data;
    const XLA_FFI_Buffer *made = frame->rets.rets[0];
    const int lead = (int)made->rank - axes[INPUTS];
    for (k = 0; k < lead; ++k)
        count *= made->dims[k];
    for (i = 0; i < INPUTS; ++i) {
        const XLA_FFI_Buffer *given = frame->args.args[i];
        long own = 1;
        for (k = 0; k < lead; ++k)
            own *= given->dims[k];
        in[i] = given->data;
        step[i] = own == 1 ? 0 : sizes[i];
        mixed |= own != 1 && own != count;
    }
    if (!mixed) {
        casid_entry(count, in, step, out);
        return 0;
    }
    for (sample = 0; sample < count; ++sample) {
        for (i = 0; i < INPUTS; ++i) {
            const XLA_FFI_Buffer *given = frame->args.args[i];
            long place = 0, rest = sample, stride = 1;
            for (k = lead - 1; k >= 0; rest /= made->dims[k], stride *= given->dims[k], --k)
                place += given->dims[k] == 1 ? 0 : rest % made->dims[k] * stride;
            in[i] = (const REAL *)given->data + place * sizes[i];
        }
        casid_entry(1, in, step, out);
        for (i = 0; i < OUTPUTS; ++i)
            out[i] += sizes[INPUTS + i];
    }
    return 0;
}
