/**
 * Self-play (SPIN): the recipe `spin` of the template `no-labels`. Three rounds must improve on their start, and a
 * control with swapped pairs must not. The reports are kept in test/artifacts. Set SEEDS to run other seeds (default:
 * 1,2,3).
 */
import assert from 'node:assert/strict';
import { copyFile, mkdir, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { artifacts } from '../scripts/paths.ts';
import { lab } from './commandLine.ts';

const seeds = (process.env.SEEDS ?? '1,2,3').split(',');

test('a policy gains by preferring worked solutions to its own answers', async () => {
	const folder = await mkdtemp(join(tmpdir(), 'self-play-'));
	try {
		await mkdir(join(folder, 'r'), { mode: 0o700 });
		await lab(folder, folder, 'new', 'project', '--template', 'no-labels');
		const project = join(folder, 'project');
		await mkdir(artifacts, { recursive: true });
		for (const seed of seeds) {
			const before = new Set(await readdir(join(project, 'runs')).catch(() => []));
			await lab(project, folder, 'run', 'spin.recipe.json', '--set', `seed=${seed}`);
			const [run] = (await readdir(join(project, 'runs'))).filter((name) => !before.has(name));
			await lab(project, folder, 'report', `runs/${run}`, '--out', `report-${seed}.md`);
			await copyFile(join(project, `report-${seed}.md`), join(artifacts, `spin-${seed}.md`));
			const report = await readFile(join(project, `report-${seed}.md`), 'utf8');
			const claims = report.match(/^\| (?:SPIN|control|imitation) above .*$/gm) ?? [];
			console.error(seed, claims.join('\n'));
			assert.match(
				claims.find((line) => line.startsWith('| SPIN above its start')) ?? '',
				/\| yes \|$/,
				`seed ${seed}`,
			);
			assert.match(
				claims.find((line) => line.startsWith('| control above its start')) ?? '',
				/\| no \|$/,
				`seed ${seed}`,
			);
		}
	} finally {
		await rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 200 });
	}
});
