import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { roundLines } from '../../../../src/cli/pipelineText.ts';
import type { NamedStage } from '../../../../src/protocol/recipeKeys/pipelineRecipe.ts';
import { readRounds } from '../../../../src/runs/pipeline/readRounds.ts';
import { freshState } from '../../../../src/runs/pipeline/startPipeline.ts';

test('rounds are read from the reports of finished evaluations, skipping anything else', async (context) => {
	const folder = await mkdtemp(join(tmpdir(), 'rounds-'));
	context.after(() => rm(folder, { recursive: true, force: true }));
	const interval = { low: 0.4, high: 0.6 };
	const report = (accuracy: number, mean: number) =>
		JSON.stringify({
			problems: 100,
			accuracy: { accuracy, ...interval, method: 'bootstrap' },
			gain: { by: 'judge', k: 8, mean, low: mean - 0.02, high: mean + 0.02 },
		});
	const stage = async (number: number, text: string | null, status: 'finished' | 'running' = 'finished') => {
		const name = `measure-${number}`;
		await mkdir(join(folder, name));
		if (text !== null) await writeFile(join(folder, name, 'report.json'), text);
		const fresh = freshState({ name, type: 'evaluate', round: { of: 'measure', number } } as NamedStage);
		return { ...fresh, status };
	};
	const stages = [
		await stage(1, report(0.5, 0.3)),
		await stage(0, report(0.25, 0.4)),
		await stage(2, report(0.75, 0.1), 'running'),
		await stage(3, '{"problems": 100, "accuracy": {"accuracy": "<b>"}}'),
		await stage(4, null),
		await stage(5, null),
		{ ...freshState({ name: 'measure', type: 'evaluate' } as NamedStage), status: 'finished' as const },
	];
	await symlink(join(folder, 'measure-1', 'report.json'), join(folder, 'measure-4', 'report.json'));
	const rounds = await readRounds(folder, { stages });
	assert.deepEqual(
		rounds.map(({ of, points }) => [of, points.map(({ stage: name, number }) => [name, number])]),
		[
			[
				'measure',
				[
					['measure-0', 0],
					['measure-1', 1],
				],
			],
		],
	);
	assert.deepEqual(rounds.flatMap(roundLines), [
		'measure: round  pass@1                  gain over pass@1',
		'0               0.250 (0.400 to 0.600)  +0.400 (0.380 to 0.420), best of 8 by the judge',
		'1               0.500 (0.400 to 0.600)  +0.300 (0.280 to 0.320), best of 8 by the judge',
	]);
	assert.deepEqual(await readRounds(folder, { stages: stages.slice(3) }), []);
});
