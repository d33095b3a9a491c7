/** Token ids of the special tokens: the first three of every vocabulary. */
export const padToken = 0;
export const bosToken = 1;
export const eosToken = 2;
export const specialTokens = ['<pad>', '<bos>', '<eos>'] as const;
