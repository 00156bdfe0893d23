import { Badge, Button, Group, Text } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { lazy, useMemo } from "react";
import type { z } from "zod";
import type { SentNotice } from "../../../domain/api/notices.ts";
import { hasRight } from "../../../domain/members.ts";
import { useAct } from "../app/acting.ts";
import { DotsIcon } from "../app/icons.tsx";
import { loadPart } from "../app/load-part.ts";
import { type LoadedMenuProps, MenuButton } from "../app/menu-button.tsx";
import { useSession } from "../app/session.ts";
import tables from "../app/table.module.css";
import { Time } from "../app/time.tsx";
import { UsedBy } from "../values/used-by.tsx";
import values from "../values/value-table.module.css";
import classes from "./notices.module.css";
import { type Asked, PLACE_WORDS, type Place, pathOf } from "./notices.ts";

const OwnersMenu = lazy(() =>
  loadPart(() => import("./owners-menu.tsx")).then((loaded) => ({ default: loaded.OwnersMenu })),
);

type OnAsk = (asked: Asked) => void;

/** The places, with where they lead and which workflows name them. */
export function PlaceTable({ places, onAsk }: { readonly places: readonly Place[]; readonly onAsk: OnAsk }) {
  return (
    <div className={tables.frame}>
      <table className={`${tables.table} ${tables.stacked} ${values.values}`}>
        <thead>
          <tr>
            <th scope="col">Name</th>
            <th scope="col">Target</th>
            <th scope="col">Added</th>
            <th scope="col">Named by</th>
            <th scope="col">
              <span className="unseen">Change</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {places.map((place) => (
            <PlaceRow key={place.name} place={place} onAsk={onAsk} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function PlaceRow({ place, onAsk }: { readonly place: Place; readonly onAsk: OnAsk }) {
  const { name, kind, target, createdBy, createdAt, usedBy, disabledReason, disabledAt, previousSecretUntil } = place;
  return (
    <tr>
      <th scope="row">
        <code>{name}</code>
        {disabledAt !== null && (
          <Badge size="sm" color="red" variant="light" ml={8}>
            Disabled
          </Badge>
        )}
      </th>
      <td data-label="Target">
        <div>
          {PLACE_WORDS[kind]}
          <Text size="sm" c="dimmed" className={classes.target ?? ""}>
            {target}
          </Text>
          {disabledAt !== null && <Text size="sm">{disabledReason} Give it a target to use it again.</Text>}
          {previousSecretUntil !== null && (
            <Text size="sm" c="dimmed">
              The old secret signs until <Time at={previousSecretUntil} as="short" />
            </Text>
          )}
        </div>
      </td>
      <td data-label="Added">
        <div>
          <Time at={createdAt} />
          <Text size="sm" c="dimmed">
            by {createdBy}
          </Text>
        </div>
      </td>
      <td data-label="Named by">
        {usedBy.length === 0 ? <span className={tables.dimmed}>None</span> : <UsedBy workflows={usedBy} />}
      </td>
      <td className={tables.narrow}>
        <Actions place={place} onAsk={onAsk} />
      </td>
    </tr>
  );
}

function Actions({ place, onAsk }: { readonly place: Place; readonly onAsk: OnAsk }) {
  const { role } = useSession();
  const { name } = place;
  const test = useAct<z.infer<typeof SentNotice>>({
    stale: ["notices"],
    refused: `Nothing was sent to ${name}`,
    onDone({ state, answer }) {
      const good = state === "delivered";
      notifications.show({
        color: good ? "green" : "red",
        title: good ? `${name} has the test` : `${name} does not have the test`,
        message: answer === "" ? "" : `Its answer: ${answer}`,
      });
    },
  });
  if (!hasRight(role, "write")) return null;
  return (
    <Group gap={4} wrap="nowrap" justify="flex-end">
      <Button
        variant="default"
        size="compact-sm"
        aria-label={`Test ${name}`}
        loading={test.isPending}
        onClick={() => test.mutate({ path: pathOf(name, "/test"), method: "POST" })}
      >
        Test
      </Button>
      {hasRight(role, "own") && <OwnersButton place={place} onAsk={onAsk} />}
    </Group>
  );
}

function OwnersButton({ place, onAsk }: { readonly place: Place; readonly onAsk: OnAsk }) {
  const Menu = useMemo(
    () => (props: LoadedMenuProps) => <OwnersMenu {...props} place={place} onAsk={onAsk} />,
    [place, onAsk],
  );
  return <MenuButton label={`Change ${place.name}`} icon={<DotsIcon />} LoadedMenu={Menu} />;
}
