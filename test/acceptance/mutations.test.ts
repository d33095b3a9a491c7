/**
 * Mutates the product at locations chosen by a seed, one at a time, and runs the unit, page and trainer tests that can
 * reach the location. At least 85% of the mutations must make a test fail. With `--only checkers`, mutates each code
 * test checker; the table in checkerCases.ts must catch 90%. `npm run acceptance -- mutations [--count N] [--seed N]
 * [--from N] [--tree FOLDER]`; FOLDER is another checkout that gets the same mutations, except where its lines differ.
 * `--from` skips the locations before the Nth.
 */
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { test } from 'node:test';
import { Campaign, type Verdict } from '../mutations/campaign.ts';
import { checkerPlaces, checkers, otherVerdicts } from '../mutations/checkers.ts';
import { choosePlaces } from '../mutations/choose.ts';
import { relocated } from '../mutations/places.ts';
import { artifacts, root } from '../scripts/paths.ts';

const {
	CHECK_COUNT: count = '40',
	CHECK_SEED: seed = '1',
	CHECK_FROM: from = '1',
	CHECK_TREE: tree = root,
	CHECK_ONLY: only,
} = process.env;
const minCaught = 0.85;
const minCaughtOfCheckers = 0.9;

for (const checker of only === 'checkers' ? checkers : []) {
	test(`${basename(checker.file)} for code tests: ${checker.places} mutations chosen by seed ${seed}`, async (t) => {
		assert.deepEqual(await otherVerdicts(checker, null, true), []);
		const text = readFileSync(join(root, checker.file), 'utf8');
		const survivors: string[] = [];
		const places = checkerPlaces(checker.file, checker.places, Number(seed));
		for (const place of places) {
			const [caughtBy] = await otherVerdicts(checker, place, false);
			const line = text.slice(0, place.start).split('\n').length;
			const change = `${line} "${place.original.split('\n')[0]}" -> "${place.replacement}"`;
			console.log(caughtBy === undefined ? `SURVIVED ${change}` : `caught   ${change} by ${caughtBy}`);
			if (caughtBy === undefined) survivors.push(change);
		}
		t.diagnostic(`${places.length - survivors.length} of ${places.length} caught`);
		assert.equal(places.length, checker.places);
		assert.ok(survivors.length <= (1 - minCaughtOfCheckers) * places.length, survivors.join('\n'));
	});
}

test(`${count} mutations chosen by seed ${seed}: at least ${minCaught * 100}% are caught`, {
	skip: only === 'checkers',
}, async (t) => {
	// Locations come from this checkout; another checkout is mutated at the same ones.
	const places = choosePlaces(root, Number(count), Number(seed));
	assert.equal(places.length, Number(count));
	const text = (folder: string, file: string) => readFileSync(join(folder, file), 'utf8');
	const other = resolve(tree);
	const campaign = new Campaign(other);
	t.after(() => campaign.dispose());
	mkdirSync(artifacts, { recursive: true });
	const log = join(artifacts, 'mutations.log');
	rmSync(log, { force: true });
	const verdicts: Verdict[] = [];
	for (const [i, chosen] of places.entries()) {
		if (i + 1 < Number(from)) continue;
		const { file } = chosen;
		const place = existsSync(join(other, file)) ? relocated(chosen, text(root, file), text(other, file)) : null;
		if (place === null) {
			console.log(`different lines in the other checkout: ${file}`);
			continue;
		}
		const verdict = await campaign.run(place, log);
		verdicts.push(verdict);
		const change = `${place.file}:${verdict.line} ${place.kind} "${place.original.split('\n')[0]}" -> "${place.replacement}"`;
		const mark = verdict.caught ? 'caught  ' : 'SURVIVED';
		console.log(
			`${i + 1} ${mark} ${change} by ${verdict.by} (${verdict.files} files, ${verdict.seconds.toFixed(0)} s)`,
		);
		writeFileSync(join(artifacts, 'mutations.json'), JSON.stringify(verdicts, undefined, '\t'));
	}
	const caught = verdicts.filter((verdict) => verdict.caught).length;
	console.log(`${caught} of ${verdicts.length} caught (${((100 * caught) / verdicts.length).toFixed(1)}%)`);
	assert.ok(caught / verdicts.length >= minCaught, `${caught} of ${verdicts.length} were caught`);
});
