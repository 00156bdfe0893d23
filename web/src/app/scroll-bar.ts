const PROPERTY = "--scroll-bar";

/**
 * Keeps the width of a scroll bar in `--scroll-bar`, in CSS pixels: 0 where scroll bars lie upon the page. Layouts leave
 * so much free on pages without one, so that nothing moves between pages.
 */
export function keepScrollBarWidth(): void {
  measure();
  // A zoomed page has a scroll bar of other CSS pixels.
  globalThis.addEventListener("resize", measure);
}

function measure(): void {
  const box = document.createElement("div");
  box.style.cssText = "position: absolute; visibility: hidden; overflow: scroll";
  document.body.append(box);
  document.documentElement.style.setProperty(PROPERTY, `${box.offsetWidth - box.clientWidth}px`);
  box.remove();
}
