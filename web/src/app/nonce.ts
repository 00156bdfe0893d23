/** The nonce of this page's policy of styles. Libraries that make style elements need it. */
export const styleNonce = document.querySelector<HTMLMetaElement>('meta[property="csp-nonce"]')?.nonce ?? "";

// What keeps the page from scrolling behind a dialog asks for it under this name.
Object.assign(globalThis, { __webpack_nonce__: styleNonce });
