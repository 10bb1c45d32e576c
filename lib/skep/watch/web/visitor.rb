# frozen_string_literal: true

module Skep
  module Watch
    class Web
      # Who has sent a request, and what he may.
      #
      #   visitor.reads?
      #   visitor.acts?        # may he ever?
      #   visitor.allow(token) # he is about to: Refused unless he may, and a page of ours has asked
      class Visitor
        attr_reader :badge #: Badges::Badge
        attr_reader :name #: String?, nil where nobody logs in

        #: (Badges, Badges::Badge, ?name: String?, reads: bool, acts: bool, ?new: bool) -> void
        def initialize(badges, badge, reads:, acts:, name: nil, new: false)
          @badges = badges
          @badge = badge
          @name = name
          @reads = reads
          @acts = acts
          @new = new
        end

        def reads? = @reads #: () -> bool
        def acts? = @acts #: () -> bool

        # Has he no cookie yet?
        def new? = @new #: () -> bool

        def allow(token) #: (String?) -> void
          acts? or raise Refused.new(403, "this page is for looking only")
          shows(token)
        end

        def shows(token) #: (String?) -> void
          @badges.proves?(badge, token) or
            raise Refused.new(403, "this page is too old: load it again")
        end
      end
      private_constant :Visitor
    end
  end
end
