import "./app/nonce.ts";
import "./app/fonts.css";
import "./app/mantine.css";
import "./app/page.css";
import "./app/forced-colors.css";
import { MantineProvider } from "@mantine/core";
import { QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { lazy, StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { colourChoice } from "./app/colour-choice.ts";
import { Later } from "./app/later.tsx";
import { loadPart } from "./app/load-part.ts";
import { styleNonce } from "./app/nonce.ts";
import { queries } from "./app/queries.ts";
import { router } from "./app/router.tsx";
import { keepScrollBarWidth } from "./app/scroll-bar.ts";
import { colours, theme } from "./app/theme.ts";

const Notices = lazy(() => loadPart(() => import("./app/notices.tsx")).then((loaded) => ({ default: loaded.Notices })));

const place = document.querySelector("#root");
if (place === null) throw new Error("The page has no place for the editor.");

keepScrollBarWidth();
createRoot(place).render(
  <StrictMode>
    <MantineProvider
      theme={theme}
      cssVariablesResolver={colours}
      defaultColorScheme="auto"
      colorSchemeManager={colourChoice}
      getStyleNonce={() => styleNonce}
    >
      <QueryClientProvider client={queries}>
        <RouterProvider router={router} />
        <Later>
          <Notices />
        </Later>
      </QueryClientProvider>
    </MantineProvider>
  </StrictMode>,
);
