/** Writes rollouts of the checkpoint that the trainer's tests use, and the embedded engine's losses on them. */
import { writeFileSync } from 'node:fs';
import { labLossCases, labLosses, labRows } from '../support/labLosses.ts';

const rows = await labRows();
const lines = (name: string, list: readonly object[]) =>
	`\t"${name}": [\n${list.map((one) => `\t\t${JSON.stringify(one)}`).join(',\n')}\n\t]`;
writeFileSync(labLosses, `{\n${lines('rows', rows)},\n${lines('cases', await labLossCases(rows))}\n}\n`);
