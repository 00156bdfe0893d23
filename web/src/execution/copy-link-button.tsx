import { lazy, useMemo } from "react";
import { LinkIcon } from "../app/icons.tsx";
import { loadPart } from "../app/load-part.ts";
import { type LoadedMenuProps, MenuButton } from "../app/menu-button.tsx";

const CopyLinkMenu = lazy(() =>
  loadPart(() => import("./copy-link.tsx")).then((loaded) => ({ default: loaded.CopyLinkMenu })),
);

/** Opens the menu that makes an address of an output. */
export function CopyLinkButton({ path, fileName }: { path: string; fileName: string }) {
  const Menu = useMemo(
    () => (props: LoadedMenuProps) => <CopyLinkMenu {...props} path={path} fileName={fileName} />,
    [path, fileName],
  );
  return <MenuButton label={`Copy a link to ${fileName}`} title="Copy a link" icon={<LinkIcon />} LoadedMenu={Menu} />;
}
