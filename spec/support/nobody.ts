/** A user who owns nothing and may do little. */
export const NOBODY = 65_534;
