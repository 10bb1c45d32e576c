# frozen_string_literal: true

require "fileutils"

# Writes the files of a typical Rails application: so many models, each with a table, a controller,
# views and translations in three languages.
#
#   Sources.write("/tmp/shop", 40)
#   Sources.names(40)               # => ["Part0", …], its models
module Sources
  SYLLABLES = %w[am bel cor del em fen gar hol].freeze
  ROWS = 40 # of each table
  LANGUAGES = %w[en de fr].freeze
  WORDS = %w[title one other price state since buy empty found tags].freeze
  private_constant :SYLLABLES, :LANGUAGES, :WORDS

  CREATE = <<~SQL
    CREATE TABLE %<table>s (id INTEGER PRIMARY KEY AUTOINCREMENT, name VARCHAR, body TEXT,
      price DECIMAL(8, 2), state INTEGER DEFAULT 0, tags TEXT, sold INTEGER DEFAULT 0,
      parent_id INTEGER, created_at DATETIME, updated_at DATETIME);
  SQL

  MODEL = <<~RUBY
    class %<name>s < ApplicationRecord
      belongs_to :parent, class_name: "%<parent>s", optional: true
      has_many :children, class_name: "%<child>s", foreign_key: :parent_id
      enum :state, { offered: 0, reserved: 1, sold_out: 2 }
      serialize :tags, coder: JSON
      validates :name, presence: true, length: { in: 2..80 }
      validates :price, numericality: { greater_than: 0 }
      before_save { self.name = name.squish }
      scope :cheap, ->(price) { where(price: ..price) }
      scope :newest, -> { order(updated_at: :desc).limit(12) }

      def self.pattern(word) = (@patterns ||= {})[word] ||= /\\b\#{Regexp.escape(word)}\\w*/i

      def label = "\#{self.class.model_name.human} \#{id}: \#{name.titleize}"
      def summary = body.to_s.truncate_words(12)
      def as_json(*) = super(only: %%i[id name price tags]).merge(label: label)
      def sell! = with_lock { update!(sold: sold + 1) }
    end
  RUBY

  CONTROLLER = <<~RUBY
    class %<plural>sController < ApplicationController
      before_action(only: %%i[show buy]) { @%<one>s = %<name>s.find(params[:id]) }

      def index = @%<many>s = %<name>s.includes(:parent).newest
      def show = @children = @%<one>s.children.cheap(500).to_a
      def data = render(json: %<name>s.offered.newest.map(&:as_json))

      def search
        pattern = %<name>s.pattern(params[:word])
        @%<many>s = %<name>s.all.select { |each| each.body.match?(pattern) }.first(8)
        render :index
      end

      def buy
        @%<one>s.sell!
        show
        render :show
      end
    end
  RUBY

  INDEX = <<~ERB
    <h1><%%= t("%<many>s.title") %%></h1>
    <p><%%= t("%<many>s.found", count: @%<many>s.size) %%></p>
    <%%= render partial: "%<many>s/%<one>s", collection: @%<many>s, cached: true %%>
    <%%= link_to t("%<many>s.empty"), search_%<many>s_path(word: "rare") if @%<many>s.empty? %%>
  ERB

  PARTIAL = <<~ERB
    <%%= content_tag :article, class: ["%<one>s", %<one>s.state] do %%>
      <h2><%%= link_to %<one>s.label, %<one>s_path(%<one>s) %%></h2>
      <p><%%= %<one>s.summary %%></p>
      <p><%%= t("%<many>s.price") %%> <%%= number_to_currency(%<one>s.price) %%>,
        <%%= time_ago_in_words(%<one>s.created_at) %%></p>
      <%%- if %<one>s.parent %%><p><%%= %<one>s.parent.label %%></p><%%- end %%>
    <%% end %%>
  ERB

  SHOW = <<~ERB
    <%%= render "%<many>s/%<one>s", %<one>s: @%<one>s %%>
    <%%= simple_format(@%<one>s.body) %%>
    <ul><%%- @%<one>s.tags.each do |tag| %%>
      <li><%%= t("%<many>s.tags") %%>: <%%= tag.humanize %%></li><%%- end %%></ul>
    <p><%%= pluralize(@children.size, t("%<many>s.one")) %%>, <%%= l(@%<one>s.updated_at) %%></p>
    <%%= link_to t("%<many>s.buy"), buy_%<one>s_path(@%<one>s), data: { confirm: true } %%>
  ERB

  LAYOUT = <<~ERB
    <!DOCTYPE html>
    <html><head><title><%= t("shop") %></title></head>
    <body><nav><%= link_to t("shop"), root_path %></nav><%= yield %></body></html>
  ERB

  BASE = {
    "app/models/application_record.rb" => <<~RUBY,
      class ApplicationRecord < ActiveRecord::Base
        self.abstract_class = true
      end
    RUBY
    "app/controllers/application_controller.rb" => <<~RUBY,
      class ApplicationController < ActionController::Base
        around_action { |_, action| I18n.with_locale(params[:in] || :en, &action) }
      end
    RUBY
    "app/views/layouts/application.html.erb" => LAYOUT
  }.freeze
  private_constant :CREATE, :MODEL, :CONTROLLER, :INDEX, :PARTIAL, :SHOW, :LAYOUT, :BASE

  class << self
    def names(count) = Array.new(count) { |index| "Part#{index}" }

    def write(folder, count)
      BASE.each { |path, text| put("#{folder}/#{path}", text) }
      kinds(count).each do |kind|
        files(kind).each { |path, text| put("#{folder}/#{path}", format(text, kind)) }
      end
      LANGUAGES.each do |tongue|
        put("#{folder}/config/locales/#{tongue}.yml", words(tongue, count))
      end
    end

    # Returns the code that creates and fills its tables.
    def schema(count)
      kinds(count).map { |kind| format(CREATE, kind) + rows(kind) }.join
    end

    private

    def kinds(count)
      names = names(count)
      names.each_with_index.map do |name, index|
        one = name.downcase
        { name:, one:, many: "#{one}s", plural: "#{name}s", table: "#{one}s",
          parent: names[index - 1], child: names[(index + 1) % count] }
      end
    end

    def files(kind)
      one, many = kind.values_at(:one, :many)
      { "app/models/#{one}.rb" => MODEL, "app/controllers/#{many}_controller.rb" => CONTROLLER,
        "app/views/#{many}/index.html.erb" => INDEX, "app/views/#{many}/show.html.erb" => SHOW,
        "app/views/#{many}/_#{one}.html.erb" => PARTIAL }
    end

    def put(path, text)
      FileUtils.mkdir_p(File.dirname(path))
      File.write(path, text)
    end

    def words(tongue, count)
      groups = kinds(count).map do |kind|
        lines = WORDS.map { |word| "    #{word}: \"#{word} of #{kind[:many]} (#{tongue})\"\n" }
        "  #{kind[:many]}:\n#{lines.join}"
      end
      "#{tongue}:\n  shop: \"RailsApp (#{tongue})\"\n#{groups.join}"
    end

    def rows(kind)
      values = Array.new(ROWS) do |row|
        body = Array.new(60) { |word| SYLLABLES[(row + word) % 8] + SYLLABLES[(row * word) % 8] }
        "('#{kind[:one]} #{row}', '#{body.join(" ")}', #{row + 0.5}, #{row % 3}, " \
          "'[\"new\",\"t#{row % 9}\"]', #{row}, '2024-01-01 12:00:00', " \
          "'2024-02-01 12:00:#{row + 10}')"
      end
      "INSERT INTO #{kind[:table]} (name, body, price, state, tags, parent_id, created_at, " \
        "updated_at) VALUES #{values.join(", ")};\n"
    end
  end
end
