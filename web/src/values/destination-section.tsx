import { Text, Title } from "@mantine/core";
import { queryOptions, useQuery } from "@tanstack/react-query";
import type { z } from "zod";
import type { DestinationList } from "../../../domain/api/destinations.ts";
import { callApi } from "../app/api.ts";
import { ErrorState, LoadingRows } from "../app/states.tsx";
import tables from "../app/table.module.css";
import { Time } from "../app/time.tsx";
import { UsedBy } from "./used-by.tsx";
import classes from "./value-table.module.css";

const destinationsQuery = queryOptions({
  queryKey: ["destinations"],
  queryFn: async ({ signal }) =>
    (await callApi<z.infer<typeof DestinationList>>("/api/destinations", { signal })).destinations,
});

/** Private hosts that programs of the account may connect to. The operator grants them; nobody changes them here. */
export function DestinationSection() {
  const found = useQuery(destinationsQuery);
  return (
    <section aria-labelledby="destinations">
      <Title order={2} id="destinations" mb="xs">
        Destinations
      </Title>
      <Text c="dimmed" mb="xs">
        Private hosts that <code>limits.network.to</code> of <code>config.yaml</code> may name. The operator of this
        installation grants them.
      </Text>
      {found.isPending && <LoadingRows count={2} label="The destinations are loading" />}
      {found.isLoadingError && <ErrorState error={found.error} onRetry={() => void found.refetch()} />}
      {found.data?.length === 0 && <Text c="dimmed">No destination is granted.</Text>}
      {found.data !== undefined && found.data.length > 0 && <DestinationTable destinations={found.data} />}
    </section>
  );
}

function DestinationTable({ destinations }: z.infer<typeof DestinationList>) {
  return (
    <div className={tables.frame}>
      <table className={`${tables.table} ${tables.stacked} ${classes.values}`}>
        <thead>
          <tr>
            <th scope="col">Name</th>
            <th scope="col">Leads to</th>
            <th scope="col">Granted</th>
            <th scope="col">Used by</th>
          </tr>
        </thead>
        <tbody>
          {destinations.map(({ name, endpoint, createdAt, usedBy }) => (
            <tr key={name}>
              <th scope="row">
                <code>{name}</code>
              </th>
              <td data-label="Leads to">
                <code>{endpoint}</code>
              </td>
              <td data-label="Granted">
                <Time at={createdAt} />
              </td>
              <td data-label="Used by">
                {usedBy.length === 0 ? <span className={tables.dimmed}>None</span> : <UsedBy workflows={usedBy} />}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
