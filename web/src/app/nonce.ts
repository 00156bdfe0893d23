/** The nonce of this page's policy of styles: whatever makes style elements by itself must give it to them. */
export const styleNonce = document.querySelector<HTMLMetaElement>('meta[property="csp-nonce"]')?.nonce ?? "";

// What keeps the page from scrolling behind a dialog asks for it under this name.
Object.assign(globalThis, { __webpack_nonce__: styleNonce });
