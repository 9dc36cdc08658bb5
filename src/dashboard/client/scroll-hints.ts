/** Says of what scrolls within the page on which sides there is more of it; the stylesheet fades those. */
export function hintAtMore(): void {
  // Captured: scrolling and unfolding do not bubble.
  for (const event of ['scroll', 'toggle']) document.addEventListener(event, updateHints, true);
  addEventListener('resize', updateHints);
  updateHints();
}

/** After an update, and whenever rows come or go. */
export function updateHints(): void {
  for (const element of document.querySelectorAll('.scroll')) {
    const { scrollTop, scrollLeft, clientHeight, clientWidth, scrollHeight, scrollWidth } = element;
    // Less than a pixel is rounding.
    const isBelow = scrollHeight - clientHeight - scrollTop >= 1;
    const isRight = scrollWidth - clientWidth - scrollLeft >= 1;
    element.toggleAttribute('data-more-below', isBelow);
    element.toggleAttribute('data-more-right', isRight);
  }
}
