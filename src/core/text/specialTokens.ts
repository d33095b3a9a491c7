/** Ids of the special tokens, which are the first three in every vocabulary. */
export const padToken = 0;
export const bosToken = 1;
export const eosToken = 2;
export const specialTokens = ['<pad>', '<bos>', '<eos>'] as const;
