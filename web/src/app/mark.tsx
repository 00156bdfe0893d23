import sign from "./favicon.svg";

/** The sign of Treadle. Its name stands beside it, or in the label of what it is in. */
export function Mark({ size = 22 }: { size?: number }) {
  return <img src={sign} width={size} height={size} alt="" />;
}
