const DASH = "–";

/** A number with the digits that matter, thin spaces between thousands; a dash when there is none. */
export function number(value: number | null | undefined, digits = 3): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return DASH;
  if (value === 0) return "0";
  const magnitude = Math.floor(Math.log10(Math.abs(value)));
  const decimals = Math.max(0, digits - 1 - magnitude);
  const [whole, part] = value.toFixed(Math.min(decimals, 9)).split(".");
  const grouped = whole.replace(/\B(?=(\d{3})+(?!\d))/g, "\u202f");
  return part ? `${grouped}.${part}` : grouped;
}

/** A whole number, thin spaces between thousands. */
export function whole(value: number): string {
  return value.toFixed(0).replace(/\B(?=(\d{3})+(?!\d))/g, "\u202f");
}

/** A fixed number of decimals; a dash when there is no number. */
export function fixed(value: number | null | undefined, decimals: number): string {
  return value === null || value === undefined || !Number.isFinite(value) ? DASH : value.toFixed(decimals);
}

/** A time of the run: "12.34 s", "512.3 s", "1:02:03". */
export function moment(seconds: number): string {
  if (seconds < 1000) return `${seconds.toFixed(seconds < 100 ? 2 : 1)} s`;
  const whole = Math.floor(seconds);
  const two = (n: number): string => String(n).padStart(2, "0");
  const hours = Math.floor(whole / 3600);
  const rest = `${two(Math.floor(whole / 60) % 60)}:${two(whole % 60)}`;
  return hours > 0 ? `${hours}:${rest}` : rest;
}

export function degrees(value: number, positive: string, negative: string): string {
  return `${Math.abs(value).toFixed(1)}° ${value >= 0 ? positive : negative}`;
}

/** "1 packet", "3 packets". */
export function count(n: number, what: string): string {
  return `${n} ${what}${n === 1 ? "" : "s"}`;
}

/** A rate: "1.44 Mbit/s". */
export function rate(bps: number): string {
  if (bps >= 1e6) return `${number(bps / 1e6)} Mbit/s`;
  return bps >= 1e3 ? `${number(bps / 1e3)} kbit/s` : `${number(bps)} bit/s`;
}

/** Bytes: "4.2 MB". */
export function size(bytes: number): string {
  if (!Number.isFinite(bytes)) return DASH;
  if (bytes < 1e3) return `${Math.round(bytes)} B`;
  if (bytes < 1e6) return `${number(bytes / 1e3, 2)} kB`;
  return bytes < 1e9 ? `${number(bytes / 1e6, 2)} MB` : `${number(bytes / 1e9, 2)} GB`;
}
