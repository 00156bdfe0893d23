import { Modal, type ModalProps } from "@mantine/core";
import { useEffect, useState } from "react";

/**
 * A dialog that is open for as long as it is there. Escape closes it. The element that had the focus before gets it back,
 * unless another one has taken it.
 */
export function Dialog(props: Omit<ModalProps, "opened">) {
  const [before] = useState(() => document.activeElement);
  useEffect(
    () => () => {
      // Once the dialog is gone from the page, and with it the focus.
      setTimeout(() => {
        const isFree = document.activeElement === null || document.activeElement === document.body;
        if (isFree && before instanceof HTMLElement) before.focus({ preventScroll: true });
      });
    },
    [before],
  );
  return <Modal opened {...props} />;
}
