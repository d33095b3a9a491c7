import { formatCounted } from '../../base/format.ts';
import type { ContaminationFile } from '../../protocol/evaluationFolder.ts';

/** Describes the overlap between training files and evaluation questions, with one sentence per file. */
export function contaminationText({ questions, tooShort, files }: ContaminationFile): string {
	const short =
		tooShort === 0 ? '' : ` ${formatCounted(tooShort, 'question')} with fewer than 3 words were not checked.`;
	const sentences = files.map(({ name, rows, overlapping, first }) => {
		const of = `${formatCounted(rows, 'row')} in ${name}`;
		if (overlapping === 0 || first === null)
			return `0 of ${of} overlap with the ${formatCounted(questions, 'question')}.`;
		return `${overlapping} of ${of} ${overlapping === 1 ? 'overlaps' : 'overlap'} with a question, first on line ${first.line}: "${first.words}".`;
	});
	return `${sentences.join(' ')}${short}`;
}
