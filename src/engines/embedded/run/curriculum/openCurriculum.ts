import { Failure } from '../../../../base/failure.ts';
import { unknownPassRates } from '../../../../core/curriculum/passRates.ts';
import { maxCurriculumProblems } from '../../../../protocol/recipeKeys/curriculumKeys.ts';
import type { SamplingStage } from '../rollout.ts';
import type { StageHost } from '../stageHost.ts';

/** Number of problems to read from a generator, which never runs out. */
const generatedProblems = 1024;

/**
 * Reads the problems that a stage chooses from, if it has a curriculum, and continues with the pass rates from the
 * checkpoint. Starts with unknown pass rates if the recipe now has a different number of problems.
 * @throws {Failure} `invalid` if there are fewer problems than the stage samples at once
 */
export function openCurriculum({ parts, progress }: Pick<StageHost, 'parts' | 'progress'>, stage: SamplingStage): void {
	const { feed, source } = parts;
	feed.pool = null;
	if (stage.curriculum === undefined) {
		progress.curriculum = null;
		return;
	}
	const saved = progress.curriculum;
	const first = saved?.first ?? feed.cursor;
	const size = stage.curriculum.problems ?? Math.min(source.trainingRows ?? generatedProblems, maxCurriculumProblems);
	const pool = feed.readPool(first, size, stage.max_completion_length);
	const found = pool.problems.length;
	if (found < stage.prompts_per_step) {
		throw new Failure(
			'invalid',
			`The curriculum of "${stage.type}" has ${found} ${found === 1 ? 'problem' : 'problems'}, fewer than "prompts_per_step" (${stage.prompts_per_step}).`,
			'Raise "curriculum.problems" in the recipe, lower "prompts_per_step", or use more data.',
		);
	}
	feed.pool = pool;
	if (saved === null) feed.cursor = pool.end;
	if (saved?.successes.length === found && saved.failures.length === found) return;
	progress.curriculum = { first, ...unknownPassRates(found) };
}
