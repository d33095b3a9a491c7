// Labels rollouts as one of several windows does: <annotations folder> <group> <count>.
import { StepLabels } from '../../../src/runs/stepLabels.ts';

const [folder = '', group = '0', many = '1'] = process.argv.slice(2);
const labels = new StepLabels(folder);
for (let index = 0; index < Number(many); index++) {
	await labels.save({
		format: 1,
		time: 1,
		split: 'train',
		step: 1,
		group: Number(group),
		index,
		prompt: 'p',
		answer: null,
		rule: 'lines',
		// Longer than an atomic pipe write.
		steps: Array.from({ length: 200 }, (_, i) => ({
			text: `step ${i} of ${group}/${index}`.repeat(3),
			rating: 1 as const,
		})),
	});
}
