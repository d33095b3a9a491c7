/**
 * `npm run acceptance -- live`: other processes write runs (prime-rl's layout with chunks that are compressed while
 * they are read, trackio's database in WAL mode, event files that are rotated). Each step must be reported within 2 s
 * of being written. `--only trackio` follows one of them, and `--count N` sets the number of steps (60).
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, test } from 'node:test';
import * as v from 'valibot';
import { followRun } from '../../src/runs/followRun.ts';
import { openRun } from '../../src/runs/openRun.ts';
import { root } from '../scripts/paths.ts';
import { newestPython } from '../support/newestPrograms.ts';

const steps = Number(process.env.CHECK_COUNT ?? 60);
const longestSeconds = 2;
const writtenSchema = v.object({ step: v.number(), time: v.number() });

const kinds = [
	{ kind: 'prime-rl', environment: 'trackers', rollouts: true },
	{ kind: 'trackio', environment: 'trackers', rollouts: false },
	{ kind: 'events', environment: 'trainers', rollouts: false },
] as const;

describe('following a run while another process writes it', () => {
	const only = process.env.CHECK_ONLY;
	for (const { kind, environment, rollouts } of kinds.filter((one) => only === undefined || one.kind === only)) {
		test(kind, async (context) => {
			const python = await newestPython(environment);
			const folder = await mkdtemp(join(tmpdir(), 'live-'));
			context.after(() => rm(folder, { recursive: true, force: true }));
			const script = join(root, 'test/acceptance/formats/live_writer.py');
			const writer = spawn(python, [script, kind, folder, `${steps}`], { stdio: ['ignore', 'pipe', 'inherit'] });
			context.after(() => writer.kill());
			const written = new Map<number, number>();
			const shown = { metrics: new Map<number, number>(), rollouts: new Map<number, number>() };
			let resets = 0;
			const errors: string[] = [];
			let follower: ReturnType<typeof followRun> | null = null;
			for await (const line of createInterface({ input: writer.stdout })) {
				const { step, time } = v.parse(writtenSchema, JSON.parse(line));
				written.set(step, time);
				if (follower !== null) continue;
				// A run can be opened as soon as it contains any data.
				follower = followRun(folder);
				const own = follower;
				context.after(() => own.dispose());
				const note = (map: Map<number, number>, at: number) => {
					if (!map.has(at)) map.set(at, Date.now() / 1000);
				};
				own.onEvent((event) => {
					if (event.kind === 'reset') resets++;
					else if (event.kind === 'error') errors.push(event.failure.message);
					else if (event.kind === 'metrics') for (const row of event.lines) note(shown.metrics, row.step);
					else if (event.kind === 'rollouts') for (const at of event.steps) note(shown.rollouts, at);
				});
				own.start();
			}
			assert.ok(follower !== null, 'nothing was written');
			const wait = performance.now() + longestSeconds * 1000;
			while (performance.now() < wait) await new Promise((resolve) => setTimeout(resolve, 50));
			assert.deepEqual(errors, []);
			assert.equal(written.size, steps);
			for (const [name, map] of Object.entries(shown)) {
				if (name === 'rollouts' && !rollouts) continue;
				// The first step is written before the run is opened.
				const delays = [...written].slice(1).map(([step, time]) => (map.get(step) ?? Number.POSITIVE_INFINITY) - time);
				delays.sort((a, b) => a - b);
				const at = (share: number) => delays[Math.min(delays.length - 1, Math.floor(share * delays.length))] as number;
				context.diagnostic(
					`${kind}, ${name}: median ${at(0.5).toFixed(2)} s, p95 ${at(0.95).toFixed(2)} s, longest ${at(1).toFixed(2)} s`,
				);
				assert.ok(at(1) < longestSeconds, `a step was shown after ${at(1).toFixed(2)} s`);
			}
			assert.equal(resets, 0, 'resets');
			if (rollouts) assert.equal((await (await openRun(folder)).steps()).length, steps);
		});
	}
});
