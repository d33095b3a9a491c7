import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { hostileTexts } from '../support/hostileTexts.ts';

export const perGroup = 8;
export const texts = Object.entries(hostileTexts);
export const groups = Math.ceil(texts.length / perGroup);

/**
 * Writes the folder of a finished run whose completions, prompts, answers and names all come from the hostile corpus.
 */
export function writeHostileRun(folder: string): void {
	const nasty = hostileTexts['image error'] ?? '';
	mkdirSync(join(folder, 'rollouts'), { recursive: true });
	const now = Date.now() / 1000;
	const lines = texts.map(([name, completion], i) =>
		JSON.stringify({
			step: 1,
			stage: nasty,
			group: Math.floor(i / perGroup),
			index: i % perGroup,
			prompt: `${name}: ${texts[(i + 7) % texts.length]?.[1].slice(0, 500)}`,
			completion,
			answer: hostileTexts['script in answer'],
			row: JSON.parse('{"__proto__":{"polluted":true}}'),
			rewards: JSON.parse(`{"__proto__":1,"constructor":2,${JSON.stringify(nasty)}:${i / 10}}`),
			reward: i / 10,
			advantage: 0,
			truncated: i % 2 === 0,
			extra: { html: nasty, name },
		}),
	);
	writeFileSync(join(folder, 'rollouts', 'step_000001.jsonl'), `${lines.join('\n')}\n`);
	writeFileSync(
		join(folder, 'metrics.jsonl'),
		`${JSON.stringify({ step: 1, time: now, stage: nasty, reward: 1, [`rewards/${nasty}/mean`]: 1 })}\n`,
	);
	const record = {
		format: 1,
		id: nasty,
		name: `hostile ${nasty} \u202e $(zap) [x](command:workbench.action.quit)`,
		engine: 'embedded',
		status: 'finished',
		attempt: 1,
		stage: nasty,
		step: 1,
		totalSteps: 1,
		created: now,
		updated: now,
		heartbeat: now,
		host: nasty,
		boot: 'elsewhere',
		pid: 1,
		processStart: 'long ago',
		device: nasty,
		parent: null,
		seeds: {},
		versions: { [nasty]: nasty },
		hashes: { recipe: '', dataset: '', rewards: '' },
	};
	writeFileSync(join(folder, 'run.json'), JSON.stringify(record));
}
