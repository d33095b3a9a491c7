import type { RunFormat } from './runFormat.ts';

/** Every format of another trainer that can be read. Those that fit one folder are offered in this order. */
export const formats: readonly RunFormat[] = [];
