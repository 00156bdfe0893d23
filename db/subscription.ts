/** A channel of the database, and what its notifications call. */
export interface Subscription {
  readonly channel: string;
  readonly onNotify: (payload: string) => void;
  /**
   * Called when listening begins, at first and after each interruption: what was announced before may have been missed.
   */
  readonly onReconnect?: () => void;
}
