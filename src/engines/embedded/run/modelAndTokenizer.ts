import type { Tokenizer } from '../../../core/text/tokenizer.ts';
import type { ModelShape } from '../../shared/modelShape.ts';

export interface ModelAndTokenizer {
	readonly shape: ModelShape;
	readonly tokenizer: Tokenizer;
	/** Names the vocabulary: two that differ in any symbol or id differ in it. */
	readonly vocabulary: string;
}
