import land from "../../../python/skyhop/data/land.json";

/** Rings of the Earth's land, longitude and latitude in turn, degrees (Natural Earth 1:110m, public domain). */
export const LAND: readonly (readonly number[])[] = (land as { rings: number[][] }).rings;
