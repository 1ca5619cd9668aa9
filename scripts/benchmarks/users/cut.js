() => {
  const scrolling = ".md-typeset__scrollwrap, .md-typeset__table, pre, math[display=block], .cell-output";
  const wide = document.documentElement.scrollWidth > innerWidth + 1 ? ["the page"] : [];
  for (const code of document.querySelectorAll(".language-sh code, .language-text code"))
    if (code.scrollWidth > code.clientWidth + 1) wide.push(code.textContent.slice(0, 40));
  for (const e of document.querySelectorAll("article img, article p, article h1, article h2, article math")) {
    const box = e.getBoundingClientRect();
    if (box.width && box.right > innerWidth + 1 && !e.closest(scrolling))
      wide.push(e.textContent.slice(0, 40) || e.src.slice(0, 60));
  }
  return wide;
}
