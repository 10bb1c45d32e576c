-- A page's messages all lie in one partition (their key is the page), and so do its rows.
CREATE TABLE IF NOT EXISTS page_views (
  partition int,
  page      text,
  minute    timestamptz,
  views     bigint NOT NULL,
  late      bigint NOT NULL, -- arrived after the end of the minute: not in `views`
  PRIMARY KEY (partition, page, minute)
);

-- How far page_views contains each partition.
CREATE TABLE IF NOT EXISTS progress (
  partition   int PRIMARY KEY,
  next_offset bigint NOT NULL,
  newest      bigint NOT NULL -- view so far, in milliseconds since 1970
);

-- Minutes that are over: their `views` don't change any more.
CREATE OR REPLACE VIEW final_page_views AS
  SELECT page, minute, views, late FROM page_views JOIN progress USING (partition)
  WHERE minute + interval '60 s' <= to_timestamp(newest / 1000.0) - interval '30 s';
