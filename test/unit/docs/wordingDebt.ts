export const allowed: Readonly<Record<string, Readonly<Record<string, number>>>> = {};
