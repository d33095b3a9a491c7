/**
 * Tests diagnosis against planted failures: `npm run acceptance -- diagnosis [--only KIND] [--seed N] [--into FOLDER]`.
 * Covers sixteen failure types (test/support/diagnosis/kinds.ts) with seeds 1 to 3, plus twelve runs without a planted
 * failure. An interrupted campaign continues in its folder. The fixed rules are:
 * - an alert names the cause if its id is in `names` for the failure type and it ranks first at the end of the run;
 * - a plant counts as a failure only if its metric is at least 0.05 below the control's (the control is trained
 *   identically with the same seed, without the plant);
 * - the first alert's edits, applied unchanged, fix the run if they recover at least half of the loss caused by the
 *   plant. The rules were developed on seeds 11 and 12 and revised after inspecting seeds 1 to 3, so only results for
 *   seeds 4 and above (`--seed`) are unbiased.
 */
import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { Campaign, measured, verdictFor } from '../support/diagnosis/campaign.ts';
import { healthyOf, type Kind, kinds } from '../support/diagnosis/kinds.ts';

const folder = process.env.CHECK_INTO ?? join(tmpdir(), 'reasoning-lab-diagnosis');
const seeds = process.env.CHECK_SEED === undefined ? [1, 2, 3] : [Number(process.env.CHECK_SEED)];
const only = process.env.CHECK_ONLY?.split(',');
const atOnce = Number(process.env.CHECK_AT_ONCE ?? 2);

interface Result {
	readonly kind: string;
	readonly seed: number;
	/** Alert ids in ranking order. */
	readonly alerts: readonly string[];
	readonly named: boolean;
	readonly edits: unknown;
	readonly control: number;
	readonly planted: number;
	/** null if there are no edits to apply. */
	readonly advised: number | null;
	readonly failed: boolean;
	readonly mended: boolean;
}

async function plant(campaign: Campaign, kind: Kind, seed: number): Promise<Result> {
	// A collapsed policy is itself the plant, so its control is the policy that did not collapse.
	const control = await campaign.train(kind.start === 'collapsed' ? 'cold' : kind.start, kind.base);
	const planted = await campaign.train(kind.start, [...kind.base, ...kind.plant]);
	const { alerts } = await verdictFor(planted);
	const named = alerts[0] !== undefined && kind.names.includes(alerts[0].id);
	const edits = alerts[0]?.recipe?.edits ?? [];
	const advised = edits.length === 0 ? null : await campaign.train(kind.start, [...kind.base, ...kind.plant, ...edits]);
	const [before, after, best] = [
		await measured(planted, kind.measure),
		advised === null ? null : await measured(advised, kind.measure),
		await measured(control, kind.measure),
	];
	const cost = best - before;
	return {
		...{ kind: kind.name, seed, alerts: alerts.map(({ id }) => id), named, edits },
		...{ control: best, planted: before, advised: after, failed: cost >= 0.05 },
		mended: after !== null && after - before >= cost / 2,
	};
}

const digits = (value: number | null) => (value === null ? '-' : value.toFixed(3));
const line = ({ kind, seed, alerts, named, control, planted, advised, failed, mended, edits }: Result) =>
	`${kind} seed ${seed}: ${named ? 'named' : 'NOT NAMED'} [${alerts.join(' ')}], control ${digits(control)}, planted ${digits(planted)}${failed ? '' : ' (NO FAILURE)'}, advised ${digits(advised)} ${mended ? 'mended' : 'NOT MENDED'} ${JSON.stringify(edits)}`;

test('the first alert names a planted failure, its advice fixes the run, and healthy runs have no alerts', async () => {
	const results: Result[] = [];
	const alarms: string[] = [];
	let clear = 0;
	const works: (() => Promise<void>)[] = [];
	for (const seed of seeds) {
		const campaign = new Campaign(folder, seed);
		await campaign.prepare();
		for (const { name, edits } of healthyOf(seed)) {
			if (only !== undefined && !only.includes('healthy')) continue;
			works.push(async () => {
				const run = await campaign.train('cold', edits);
				const { alerts } = await verdictFor(run);
				console.error(
					`healthy ${name} seed ${seed}: held-out ${digits(await measured(run, 'held-out'))} [${alerts.map(({ id }) => id).join(' ')}]`,
				);
				if (alerts.length > 0) alarms.push(`${name} seed ${seed}: ${alerts.map(({ message }) => message).join(' ')}`);
				else clear++;
			});
		}
		for (const kind of kinds) {
			if (only !== undefined && !only.includes(kind.name)) continue;
			works.push(async () => {
				const result = await plant(campaign, kind, seed);
				console.error(line(result));
				results.push(result);
				await mkdir(join(folder, 'results'), { recursive: true });
				await writeFile(
					join(folder, 'results', `${kind.name}-${seed}.json`),
					`${JSON.stringify(result, null, '\t')}\n`,
				);
			});
		}
	}
	let next = 0;
	const broken: string[] = [];
	const worker = async () => {
		while (next < works.length) {
			// A failing run must not prevent the others from being measured.
			await works[next++]?.().catch((error: unknown) => broken.push(String(error)));
		}
	};
	await Promise.all(Array.from({ length: atOnce }, worker));
	const share = (part: number) => `${part} of ${results.length}`;
	const failed = results.filter((result) => result.failed);
	const named = results.filter((result) => result.named).length;
	const mended = failed.filter((result) => result.mended).length;
	console.error(
		`named ${share(named)}; failures ${share(failed.length)}, mended ${mended}; healthy ${clear} of ${clear + alarms.length} clear`,
	);
	assert.deepEqual(broken, [], 'all runs could be trained');
	assert.deepEqual(alarms, [], 'healthy runs have no alerts');
	assert.ok(named >= 0.9 * results.length, `named ${share(named)}`);
	assert.ok(mended >= 0.75 * failed.length, `mended ${mended} of ${failed.length}`);
});
