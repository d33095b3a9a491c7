import { formatCounted } from '../base/format.ts';
import { feedbackAgreement } from '../core/feedback/agreement.ts';
import { ownFormat } from '../runs/annotationFolder.ts';
import { FeedbackLog } from '../runs/feedbackLog.ts';
import { foreignFeedback } from '../runs/foreignFeedback.ts';
import { openRun } from '../runs/openRun.ts';
import { printable } from './cliOutput.ts';
import { findAnyRun } from './findRun.ts';
import { text } from './options.ts';
import { defineVerb } from './verb.ts';

const number = (value: number) => value.toFixed(2);

export const feedbackVerb = defineVerb({
	name: 'feedback',
	group: 'Runs',
	arguments: [{ name: 'run', phrase: 'a run', type: 'path' }],
	summary: "Show human ratings and preferences for a run's completions, and how well raters and rewards agree.",
	options: { format: text('NAME', 'Trainer format to read the folder as, if several match.') },
	async run({ values, positionals, output }) {
		const folder = await findAnyRun(positionals[0] as string);
		const run = await openRun(folder, values.format === undefined ? {} : { format: values.format });
		const log = await FeedbackLog.of(run);
		const feedback = await log.all();
		const agreement = feedbackAgreement(feedback);
		const foreign = run.format === ownFormat ? await foreignFeedback(run.folder, feedback) : 0;
		output.object({ run: run.folder, ...agreement, foreign, unreadable: log.unreadable });
		if (agreement.raters.length === 0) {
			output.line('This run has no ratings yet. Rate completions with + and - in the rollouts panel.');
			return 0;
		}
		for (const { name, ratings, preferences } of agreement.raters) {
			output.line(printable(`${name}: ${ratings} rated, ${preferences} compared`));
		}
		const { alpha, shared, pairs, undecided, reward, blind } = agreement;
		output.line(
			alpha === null
				? `Rater agreement: unknown (${formatCounted(shared, 'completion')} rated by two or more people).`
				: `Rater agreement: Krippendorff's alpha ${number(alpha)} on ${formatCounted(shared, 'completion')} (1: perfect, 0: chance).`,
		);
		output.line(`Decided pairs: ${pairs}; tied or disputed: ${undecided}.`);
		if (reward !== null) {
			const { accuracy, low, high } = reward.share;
			output.line(
				`The reward agrees with raters on ${number(accuracy)} [${number(low)}, ${number(high)}] of the ${formatCounted(reward.pairs, 'pair')} with different rewards.`,
			);
		}
		if (blind > 0)
			output.line(
				`${formatCounted(blind, 'pair has', 'pairs have')} equal rewards: the reward misses differences that raters see.`,
			);
		if (pairs > 0)
			output.line('To export the pairs for dpo and reward-model, run reasoning-lab export <run> --as preferences.');
		if (foreign > 0) {
			output.line(
				`${foreign} of the rated completions are not in this run's rollouts. The ratings file may belong to another run. The pairs are exported anyway.`,
			);
		}
		if (log.unreadable > 0) output.line(`${formatCounted(log.unreadable, 'line')} could not be read.`);
		return 0;
	},
});
