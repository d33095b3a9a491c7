/** Returns the output name for a tensor that stays on the device: `resident NAME` becomes input NAME of a later run. */
export const residentName = (name: string): string => `resident ${name}`;
