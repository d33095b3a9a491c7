/**
 * Writes test/fixtures/checkerVerdicts.json: the exact verdicts of the code test checkers for each case in
 * checkerCases.ts. The counts must match the table; the messages are recorded so that changes can be reviewed in the
 * diff. `node test/scripts/start.mjs test/scripts/recordCheckerVerdicts.ts`
 */
import { writeFileSync } from 'node:fs';
import { checkers, keyOf, recorded, verdictsOf } from '../mutations/checkers.ts';

const lines = new Map<string, readonly string[]>();
for (const checker of checkers) {
	await verdictsOf(checker, null, (one, says, words) => {
		if (says !== String(one.says)) {
			console.log(`${says}, not ${one.says}: ${JSON.stringify(one)}: ${words.join('; ')}`);
			process.exitCode = 1;
		}
		lines.set(keyOf(one), words);
		return false;
	});
}
const all = checkers.flatMap(({ cases }) => cases.map((one) => [keyOf(one), lines.get(keyOf(one))] as const));
writeFileSync(recorded, `${JSON.stringify(Object.fromEntries(all), undefined, '\t')}\n`);
