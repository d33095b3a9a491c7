import { Random } from '../../src/base/random.ts';
import { createTask } from '../../src/core/dataset/createTask.ts';
import { renderCompletion, renderPrompt, resolveTemplate } from '../../src/core/text/template.ts';
import { buildTokenizer } from '../../src/core/text/vocabulary.ts';
import { taskNames } from '../../src/protocol/recipeKeys/recipe.ts';

/** Returns the tokenizer and texts for the golden file. The script prints them for makeTokenizerGolden.py. */
export function tokenizerInput(): { tokenizer: string; texts: string[]; unknown: string[] } {
	const template = resolveTemplate('r1-conversation');
	const tasks = taskNames.map((task) => createTask({ task }));
	const foreign = 'äß漢字😀👩‍🔬e\u0301\n\t\r "\\\u2028\u00a0<>/thinkabosegw';
	const tokenizer = buildTokenizer(template, [...tasks.flatMap((task) => [...task.symbols]), foreign]);
	const texts = tasks.flatMap((task) =>
		Array.from({ length: 4 }, (_, i) => {
			const problem = task.sample(Random.of('golden', i));
			return renderPrompt(template, problem.prompt) + renderCompletion(template, problem);
		}),
	);
	texts.push(
		'',
		' ',
		foreign,
		'<think',
		'<think></think>',
		'<<think>>',
		'<bos>1<eos><pad>',
		' <answer> 1 </answer> \n',
		'</think><think>',
	);
	const pieces = [...tokenizer.symbols, '<', '>', '</', 'th', 'ink>', '  '];
	for (let i = 0; i < 60; i++) {
		const random = Random.of('golden soup', i);
		texts.push(Array.from({ length: random.int(24) }, () => random.pick(pieces)).join(''));
	}
	return { tokenizer: tokenizer.toTokenizerJson(), texts, unknown: ['Ω', '1Ω', '\u0000'] };
}

if (import.meta.main) process.stdout.write(JSON.stringify(tokenizerInput()));
