import { Button, Group, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { lazy, Suspense, useState } from "react";
import { hasRight } from "../../../domain/members.ts";
import { PlusIcon } from "../app/icons.tsx";
import { loadPart } from "../app/load-part.ts";
import { useSession } from "../app/session.ts";
import { EmptyState, ErrorState, LoadingRows } from "../app/states.tsx";
import { type Asked, placesQuery } from "./notices.ts";
import { PlaceTable } from "./place-table.tsx";

const PlaceDialog = lazy(() =>
  loadPart(() => import("./place-dialog.tsx")).then((loaded) => ({ default: loaded.PlaceDialog })),
);
const SecretDialog = lazy(() =>
  loadPart(() => import("./secret-dialog.tsx")).then((loaded) => ({ default: loaded.SecretDialog })),
);

/** The places of the account. Owners change them. */
export function PlaceSection() {
  const [asked, setAsked] = useState<Asked>();
  const places = useQuery(placesQuery);
  const owns = hasRight(useSession().role, "own");
  const close = () => setAsked(undefined);
  return (
    <section aria-labelledby="places-title">
      <Group justify="space-between" mb="xs">
        <Title order={2} id="places-title">
          Places
        </Title>
        {owns && (
          <Button variant="default" leftSection={<PlusIcon />} onClick={() => setAsked({ what: "new" })}>
            New place
          </Button>
        )}
      </Group>
      {places.isPending && <LoadingRows count={2} label="The places are loading" />}
      {places.isLoadingError && <ErrorState error={places.error} onRetry={() => void places.refetch()} />}
      {places.data?.length === 0 && (
        <EmptyState title="No place yet">
          {owns
            ? "Add a webhook, an e-mail address, or a channel of Slack or Teams."
            : "Owners of the account add them."}
        </EmptyState>
      )}
      {places.data !== undefined && places.data.length > 0 && <PlaceTable places={places.data} onAsk={setAsked} />}
      <Suspense>
        {asked?.what === "secret" && <SecretDialog place={asked.place} onClose={close} />}
        {asked?.what === "new" && <PlaceDialog onClose={close} />}
        {asked?.what === "target" && <PlaceDialog given={asked.place} onClose={close} />}
      </Suspense>
    </section>
  );
}
