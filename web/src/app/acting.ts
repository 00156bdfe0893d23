import { notifications } from "@mantine/notifications";
import { type QueryKey, useMutation, useQueryClient } from "@tanstack/react-query";
import { type Call, callApi } from "./api.ts";

/** A call that changes something: what it makes old is asked for again, and a refusal is shown. */
export function useAct<T = unknown>(options: { stale: QueryKey; refused: string; onDone?: (answer: T) => void }) {
  const known = useQueryClient();
  return useMutation({
    mutationFn: ({ path, ...call }: Call & { readonly path: string }) => callApi<T>(path, call),
    onSuccess: (answer) => options.onDone?.(answer),
    onError: (error) => notifications.show({ color: "red", title: options.refused, message: error.message }),
    onSettled: () => known.invalidateQueries({ queryKey: options.stale }),
  });
}
