import type { Tokenizer } from '../../../core/text/tokenizer.ts';
import type { ModelShape } from '../../shared/modelShape.ts';

export interface ModelAndTokenizer {
	readonly shape: ModelShape;
	readonly tokenizer: Tokenizer;
	/** Vocabulary fingerprint: changes if any symbol or id changes. */
	readonly vocabulary: string;
}
