import { createHash } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { checkAborted } from '../base/async.ts';
import type { Verdict } from '../core/diagnosis/verdict.ts';
import { type DiagnoseOptions, diagnosedSteps, diagnoseRun, orNone } from './diagnoseRun.ts';
import { diagnosisRunOf } from './diagnosisRunOf.ts';
import { lookAtRun } from './lookAtRun.ts';
import type { RunContent } from './runContent.ts';
import { sampledSteps, withStep } from './stepFactsOf.ts';

/** Maximum number of runs to keep verdicts for. A verdict takes a few kilobytes. */
const maxRuns = 100;

/**
 * Verdicts on runs, for programs that diagnose the same runs repeatedly. A run is diagnosed again if its record, recipe,
 * metrics or evaluations, or the files of a sampled step, have changed, and always while it is active, because the
 * verdict then depends on the time.
 */
export class VerdictCache {
	/** Keyed by folder and format; least recently used first. */
	readonly #kept = new Map<string, { readonly stamp: string; readonly verdict: Verdict }>();

	/** Same as `diagnoseRun`. */
	async of(content: RunContent, options: DiagnoseOptions = {}): Promise<Verdict> {
		const key = JSON.stringify([content.folder, content.format]);
		const stamp = await stampOf(content, options);
		const known = this.#kept.get(key);
		const verdict = known !== undefined && known.stamp === stamp ? known.verdict : await diagnoseRun(content, options);
		this.#kept.delete(key);
		if (stamp !== null) this.#kept.set(key, { stamp, verdict });
		for (const oldest of this.#kept.keys()) {
			if (this.#kept.size <= maxRuns) break;
			this.#kept.delete(oldest);
		}
		return verdict;
	}
}

/** Returns a hash of everything that the verdict on a run depends on, or null if the run is active. */
async function stampOf(content: RunContent, { signal, steps }: DiagnoseOptions): Promise<string | null> {
	const look = await lookAtRun(content).catch(() => null);
	if (look?.working === true) return null;
	const record = await content.record().catch(() => null);
	const { run, tags } = await diagnosisRunOf(content.folder, content.format, record);
	const evaluations = await content.evaluations().catch(orNone);
	const hash = createHash('sha256').update(JSON.stringify([run, tags, evaluations]));
	const all = content.hasSteps ? await content.steps().catch(orNone) : [];
	for (const step of sampledSteps(all, steps ?? diagnosedSteps)) {
		const identity = await withStep(content, step, async (opened) => opened.identity);
		hash.update(JSON.stringify([step, identity]));
		checkAborted(signal);
	}
	for await (const lines of content.metrics(signal)) {
		hash.update(JSON.stringify(lines));
		await setImmediate();
		checkAborted(signal);
	}
	return hash.digest('hex');
}
