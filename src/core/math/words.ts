/** Normalizes words for comparison: lowercase, without markup, articles, or punctuation at the ends. */
export function literalWords(text: string): string {
	return text
		.normalize('NFC')
		.replace(/[\u200b-\u200f\u2060-\u206f\ufeff\u00ad]/g, '')
		.replace(/\\(?:text|textbf|textit|mathrm|mathbf|mbox|textnormal|textrm|operatorname|boxed)\s*\{([^{}]*)\}/g, ' $1 ')
		.replace(/\\(?:text|textbf|textit|mathrm|mathbf|mbox|textnormal|textrm|operatorname|boxed)\s*\{([^{}]*)\}/g, ' $1 ')
		.replace(/\\[()[\],;:! ]|[$*`"“”]/g, ' ')
		.replace(/[’‘]/g, "'")
		.replace(/\s+/g, ' ')
		.trim()
		.replace(/^[\s.,;:!?'({[]+|[\s.,;:!?')}\]]+$/g, '')
		.toLowerCase()
		.replace(/^(?:the|a|an) (?=\S)/, '');
}

const ones =
	'zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen'.split(
		' ',
	);
const tens = 'twenty thirty forty fifty sixty seventy eighty ninety'.split(' ');
const scales: Readonly<Record<string, number>> = {
	hundred: 100,
	thousand: 1_000,
	million: 1_000_000,
	billion: 1_000_000_000,
};

/** Parses an integer spelled out in English: `twenty-one`, `three hundred and five`. Returns null for anything else. */
export function numberInWords(text: string): number | null {
	const list = text
		.toLowerCase()
		.split(/[\s-]+/)
		.filter((word) => word !== 'and');
	if (list.length === 0 || list.length > 12) return null;
	let total = 0;
	let group = 0;
	let last = '';
	for (const word of list) {
		const one = ones.indexOf(word);
		const ten = tens.indexOf(word);
		const scale = scales[word];
		if (one >= 0) {
			if (last === 'one' || (last === 'ten' && (one === 0 || one > 9))) return null;
			group += one;
			last = 'one';
		} else if (ten >= 0) {
			if (last === 'one' || last === 'ten') return null;
			group += 20 + 10 * ten;
			last = 'ten';
		} else if (scale !== undefined) {
			if (last === '') return null;
			if (scale === 100) group *= 100;
			else {
				total += group * scale;
				group = 0;
			}
			last = 'scale';
		} else return null;
	}
	return total + group;
}
