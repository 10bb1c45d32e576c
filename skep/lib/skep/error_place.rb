# frozen_string_literal: true

require "rbconfig"
require_relative "user_error"

module Skep
  # Where the application raised an exception: the first line of its backtrace that is neither
  # skep's nor a gem's.
  #
  #   ErrorPlace.of(error)          # => "app/models/order.rb:12"; nil if only skep's code raised it
  #   ErrorPlace.of_thread(thread)   # => where a thread stands now
  #   ErrorPlace.backtrace(error)   # => its lines, without those of skep that called the handler
  #
  # Paths are relative to the directory in which skep was started, or that of the swarm's file.
  module ErrorPlace
    LINE = /\A(.+?):(\d+)(?=:|\z)/
    LINES = 20
    FRAMES, DEPTH = 200, 5 # that are looked at, of each of so many causes
    RUBY = RbConfig::CONFIG.values_at("rubylibdir", "rubyarchdir", "sitelibdir", "vendorlibdir",
                                      "vendordir").compact.uniq.freeze
    START = begin
      Dir.pwd
    rescue SystemCallError # it was removed
      nil
    end
    CAUSE = Exception.instance_method(:cause) # the user's class may have a method of that name
    private_constant :LINE, :LINES, :FRAMES, :DEPTH, :RUBY, :START, :CAUSE

    @own = [] # the folders of skep's gems
    @callers = []

    class << self
      # Adds a gem's lib, whose lines are skep's own. callers: files of it that call the handler.
      # What is below them was not called by the application.
      def add(lib, callers: [])
        @own |= ["#{lib}/"]
        @callers |= callers.map { |name| "#{lib}/skep/#{name}.rb:" }
      end

      # The same of a thread: the line of the application at which it stands now.
      def of_thread(thread)
        of(RuntimeError.new.tap { |error| error.set_backtrace(thread.backtrace || []) })
      end

      # The swarm's file.
      def file=(path)
        @folder = File.dirname(File.expand_path(path))
      end

      def of(error)
        found = nil
        each_place(error) do |path, line|
          found = [path, line] if found.nil? || !gem?(path)
          break unless gem?(path)
        end
        found && [relative(found.first), found.last].join(":")
      end

      def backtrace(error)
        lines = above_callers(lines_of(error))
        last = lines.rindex { |line| foreign?(line) }
        lines.first(last ? [last + 1, LINES].min : LINES)
      end

      private

      # Yields path and number of each line that isn't skep's or Ruby's own, of the error and of its
      # causes: skep wraps what it reports of some.
      def each_place(error)
        DEPTH.times do
          above_callers(lines_of(error, FRAMES)).each do |line|
            place = line.match(LINE)&.captures if foreign?(line)
            yield place if place
          end
          error = CAUSE.bind_call(error) or break
        end
      end

      def above_callers(lines) = lines.take_while { |line| !line.start_with?(*@callers) }

      # Without those of an error whose own `backtrace` raises, or returns something else.
      def lines_of(error, most = nil)
        lines = error.backtrace.to_a
        (most ? lines.first(most) : lines).map { |line| line.to_s.scrub }
      rescue UserError
        []
      end

      def foreign?(line)
        !line.start_with?("<internal:", *@own, *RUBY.map { |path| "#{path}/" })
      end

      def gem?(path) = path.start_with?(*gems)

      # Those of Bundler's Git repositories too.
      def gems
        return [] unless defined?(::Gem)

        @gems ||= ::Gem.path.flat_map { |path| ["#{path}/gems/", "#{path}/bundler/gems/"] }
      end

      def relative(path)
        roots = [START, @folder].compact.reject { |root| root == "/" }
        root = roots.find { |one| path.start_with?("#{one}/") }
        root ? path.delete_prefix("#{root}/") : path
      end
    end

    add(File.expand_path("..", __dir__),
        callers: %w[swarm/processes/node_main swarm/processes/inline_runner])
  end
end
