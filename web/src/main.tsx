import "./app/nonce.ts";
import "@mantine/core/styles.css";
import "@mantine/notifications/styles.css";
import "./app/page.css";
import { MantineProvider } from "@mantine/core";
import { ModalsProvider } from "@mantine/modals";
import { Notifications } from "@mantine/notifications";
import { QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { colourChoice } from "./app/colour-choice.ts";
import { styleNonce } from "./app/nonce.ts";
import { queries } from "./app/queries.ts";
import { router } from "./app/router.tsx";
import { colours, theme } from "./app/theme.ts";

const place = document.querySelector("#root");
if (place === null) throw new Error("The page has no place for the editor.");

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
        <ModalsProvider>
          <Notifications position="bottom-right" />
          <RouterProvider router={router} />
        </ModalsProvider>
      </QueryClientProvider>
    </MantineProvider>
  </StrictMode>,
);
