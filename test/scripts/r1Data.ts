import { Random } from '../../src/base/random.ts';
import { createTask } from '../../src/core/dataset/createTask.ts';
import { sampleTraining } from '../../src/core/dataset/split.ts';
import { renderCompletion, resolveTemplate } from '../../src/core/text/template.ts';

/** Number of rows used in place of DeepSeek-R1's data from other models: full solutions to general problems. */
const rows = 400;

/** Returns the contents of data/general.jsonl in the `r1` template. */
export function r1DataText(): string {
	const task = createTask({ task: 'bilingual', general: 1, language: 'en', style: 'full' });
	const template = resolveTemplate('r1');
	const lines = Array.from({ length: rows }, (_, i) => {
		const { prompt, answer, solution } = sampleTraining(task, Random.of('general data', i));
		const completion = renderCompletion(template, { solution, answer });
		return JSON.stringify({ prompt, completion, answer, category: 'general' });
	});
	return `${lines.join('\n')}\n`;
}
