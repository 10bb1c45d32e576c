# frozen_string_literal: true

require "json"

# Page views for examples/try: ten minutes of them, a little out of order, and one in a hundred
# minutes late.
module Sample
  TOPICS = { "views" => 8, "views.dead" => 1 }.freeze
  TOPIC = "views"
  VIEWS = 30_000
  PAGES = 40
  BEGAN = 1_700_000_040_000 # a full minute
  EVERY = 20 # milliseconds

  class << self
    def environment(_) = {}

    def messages
      random = Random.new(7)
      Array.new(VIEWS) { |number| view("/bees/#{random.rand(PAGES)}", moment(number, random)) }
    end

    def result(_, postgres)
      rows = postgres.query(<<~SQL)
        SELECT minute, sum(views), sum(late), count(final.page) || ' of ' || count(*)
        FROM page_views LEFT JOIN final_page_views AS final USING (page, minute, views, late)
        GROUP BY minute ORDER BY minute
      SQL
      ["minute | views | late | final", *rows.lines(chomp: true)]
    end

    private

    def moment(number, random)
      late = random.rand(100).zero? ? 200_000 : 0
      BEGAN + (number * EVERY) - random.rand(25_000) - late
    end

    def view(page, at) = [page, JSON.generate(page:, at:)]
  end
end
