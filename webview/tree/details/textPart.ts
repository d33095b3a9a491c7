import type { IDisposable } from '../../../src/base/disposable.ts';
import type { TraceTags } from '../../../src/core/trace/trace.ts';
import { noTags, traceCompletion } from '../../lib/trace/completionTrace.ts';
import { plainLabel } from '../../lib/trace/hiddenCharacters.ts';
import { TextBody } from '../../lib/trace/textBody.ts';

/** Text bodies in a tab, disposed of together. */
export class TextParts implements IDisposable {
	#bodies: TextBody[] = [];

	make(label: string, text: string, tags: TraceTags = noTags): HTMLElement {
		const body = new TextBody({
			label: plainLabel(label, 120),
			trace: traceCompletion(text, tags),
			found: [],
			behaviors: true,
		});
		this.#bodies.push(body);
		return body.element;
	}

	clear(): void {
		for (const body of this.#bodies.splice(0)) body.dispose();
	}

	dispose(): void {
		this.clear();
	}
}

/** Formats a tool's value: strings unchanged, anything else as indented JSON. */
export function valueText(value: unknown): string {
	if (typeof value === 'string') return value;
	try {
		return JSON.stringify(value, null, 2) ?? '';
	} catch {
		return String(value);
	}
}
