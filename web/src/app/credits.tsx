const format = new Intl.NumberFormat("en", { maximumFractionDigits: 4 });
const exact = new Intl.NumberFormat("en", { maximumFractionDigits: 6 });

/** Credits as a number, with as many decimals as matter. */
export function toCreditText(credits: number): string {
  if (credits !== 0 && Math.abs(credits) < 0.0001) return exact.format(credits);
  return format.format(credits);
}

/** An amount of credits; exactly, on hover. */
export function Credits({ amount, unit = false }: { amount: number; unit?: boolean }) {
  return (
    <span className="number" title={`${exact.format(amount)} credits`}>
      {toCreditText(amount)}
      {unit && (amount === 1 ? " credit" : " credits")}
    </span>
  );
}
