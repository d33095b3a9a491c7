/** How many runs one comparison has. Apart from its messages, whose schemas nobody needs before one is opened. */
export const comparedRuns = { least: 2, most: 8 } as const;
