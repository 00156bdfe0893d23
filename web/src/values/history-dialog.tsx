import { Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Dialog } from "../app/dialog.tsx";
import { ErrorState, LoadingRows } from "../app/states.tsx";
import tables from "../app/table.module.css";
import { Time } from "../app/time.tsx";
import classes from "./value-table.module.css";
import { type Kind, type Place, type Version, versionsQuery } from "./values.ts";

/** Who set a value when, and who removed it. Of a variable, also to what. */
export function HistoryDialog({ kind, place, onClose }: { kind: Kind; place: Place; onClose: () => void }) {
  const found = useQuery(versionsQuery(kind, place));
  return (
    <Dialog onClose={onClose} title={`History of ${place.name}`} size="lg">
      {found.isPending && <LoadingRows count={2} label="The history is loading" />}
      {found.isLoadingError && <ErrorState error={found.error} onRetry={() => void found.refetch()} />}
      {found.data !== undefined && <Versions kind={kind} versions={found.data} />}
    </Dialog>
  );
}

function Versions({ kind, versions }: { kind: Kind; versions: readonly Version[] }) {
  return (
    <div className={tables.frame}>
      <table className={`${tables.table} ${tables.stacked} ${classes.values}`}>
        <thead>
          <tr>
            <th scope="col">Version</th>
            <th scope="col">Change</th>
            {kind === "variable" && <th scope="col">Value</th>}
            <th scope="col">Last used</th>
          </tr>
        </thead>
        <tbody>
          {versions.map(({ version, removed, value, setBy, setAt, lastUsedAt }) => (
            <tr key={version}>
              <th scope="row">{version}</th>
              <td data-label="Change">
                <div>
                  {removed ? "Removed" : "Set"} <Time at={setAt} as="short" />
                  <Text size="sm" c="dimmed">
                    by {setBy}
                  </Text>
                </div>
              </td>
              {kind === "variable" && (
                <td data-label="Value">
                  <code className={classes.whole}>{value}</code>
                </td>
              )}
              <td data-label="Last used">
                {lastUsedAt === null ? <Text c="dimmed">{removed ? "" : "Never"}</Text> : <Time at={lastUsedAt} />}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
