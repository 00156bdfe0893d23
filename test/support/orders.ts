/** One line of the order export that `examples/sales-report` reads. Prices are whole cents. */
export interface Order {
  readonly orderId: string;
  readonly orderedAt: string;
  readonly region: string;
  readonly product: string;
  readonly status: "paid" | "refunded" | "cancelled";
  readonly quantity: number;
  readonly unitPriceCents: number;
  readonly customer: string;
}

const REGIONS = ["EU", "US", "APAC"];
/** Names that a careless reader of CSV or a careless writer of PDF gets wrong. */
const PRODUCTS = [
  'Desk "Oak", large',
  "Lamp & Shade",
  "Chair <ergonomic>",
  "Mug, 0.3 l",
  "Notebook (A5)",
  "Pen",
  "Backpack",
];
const FIRST_DAY = Date.UTC(2025, 0, 1);
const DAYS = 365;
/** One order in this many comes twice, as exports that overlap do. */
const REPEATED_ONE_IN = 1_000;

/** Orders of the year 2025, the same for the same seed: paid, refunded, cancelled, a few of them exported twice. */
export function createOrders(options: { count: number; seed: number }): Order[] {
  const random = createRandom(options.seed);
  const whole = (below: number): number => Math.floor(random() * below);
  const orders: Order[] = [];
  while (orders.length < options.count) {
    const previous = orders.at(-1);
    if (previous !== undefined && whole(REPEATED_ONE_IN) === 0) {
      orders.push(previous);
      continue;
    }
    const chance = random();
    orders.push({
      orderId: `A-${String(orders.length + 1).padStart(7, "0")}`,
      // Whole seconds, so that every line has the same form of time stamp.
      orderedAt: new Date(FIRST_DAY + whole(DAYS * 86_400) * 1_000).toISOString().replace(".000Z", "Z"),
      region: REGIONS[whole(REGIONS.length)] as string,
      product: PRODUCTS[whole(PRODUCTS.length)] as string,
      status: chance < 0.9 ? "paid" : chance < 0.97 ? "refunded" : "cancelled",
      quantity: 1 + whole(5),
      unitPriceCents: 99 + whole(50_000),
      customer: `Zoë ${whole(10_000)}`,
    });
  }
  return orders;
}

/** The export as the shop writes it: a byte order mark, quotes where needed, a column nobody asked for. */
export function toCsv(orders: readonly Order[]): string {
  const lines = orders.map((order) =>
    [
      order.orderId,
      order.orderedAt,
      order.region,
      quote(order.product),
      order.status,
      order.quantity,
      `${Math.floor(order.unitPriceCents / 100)}.${String(order.unitPriceCents % 100).padStart(2, "0")}`,
      quote(order.customer),
    ].join(","),
  );
  return `\ufefforder_id,ordered_at,region,product,status,quantity,unit_price,customer\r\n${lines.join("\r\n")}\r\n`;
}

function quote(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** What a report must say: paid orders counted once, in whole cents, grouped by `groupOf`. */
export function sumPaidCents(orders: readonly Order[], groupOf: (order: Order) => string): Map<string, number> {
  const sums = new Map<string, number>();
  const seen = new Set<string>();
  for (const order of orders) {
    if (order.status !== "paid" || seen.has(order.orderId)) continue;
    seen.add(order.orderId);
    const group = groupOf(order);
    sums.set(group, (sums.get(group) ?? 0) + order.quantity * order.unitPriceCents);
  }
  return sums;
}

/** Mulberry32: small, and the same on every machine. From 0 up to but not including 1. */
function createRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
